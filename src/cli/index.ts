#!/usr/bin/env node
import { codes, command } from './command.js';

// The reader of the output may close it early: `kaon inspect model.json | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

async function read(): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Uint8Array);
  return Buffer.concat(chunks);
}

try {
  process.exitCode = await command(process.argv.slice(2), {
    out: (text) => void process.stdout.write(text),
    error: (text) => void process.stderr.write(text),
    read,
  });
} catch (error) {
  console.error(error);
  process.exitCode = codes.broken;
}
