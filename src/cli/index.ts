#!/usr/bin/env node
import { command } from './command.js';

process.exitCode = await command(process.argv.slice(2), {
  out: (text) => void process.stdout.write(text),
  error: (text) => void process.stderr.write(text),
});
