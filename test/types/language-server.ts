import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { checkout } from '../support/sources.js';

interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

/** What an editor shows of a function that is being called. */
export interface SignatureHelp {
  readonly signatures: readonly {
    readonly label: string;
    readonly documentation?: string | { readonly value: string };
  }[];
}

/** The TypeScript compiler as editors use it, on the files of a folder. */
export class LanguageServer {
  readonly #folder: string;
  readonly #process: ChildProcessWithoutNullStreams;
  readonly #waiting = new Map<number, (message: Message) => void>();
  #unread = Buffer.alloc(0);
  #requests = 0;

  private constructor(folder: string) {
    this.#folder = folder;
    const tsc = join(checkout, 'node_modules/typescript/bin/tsc');
    this.#process = spawn(process.execPath, [tsc, '--lsp', '--stdio'], { cwd: folder });
    this.#process.stdout.on('data', (chunk: Buffer) => this.#read(chunk));
  }

  static async start(folder: string): Promise<LanguageServer> {
    const server = new LanguageServer(folder);
    await server.#request('initialize', {
      processId: process.pid,
      rootUri: pathToFileURL(folder).href,
      capabilities: {
        textDocument: {
          hover: { contentFormat: ['markdown'] },
          signatureHelp: { signatureInformation: { documentationFormat: ['markdown'] } },
        },
      },
    });
    server.#send({ method: 'initialized', params: {} });
    return server;
  }

  /** Opens a file with a text; returns its address. */
  open(name: string, text: string): string {
    const uri = pathToFileURL(join(this.#folder, name)).href;
    this.#send({
      method: 'textDocument/didOpen',
      params: { textDocument: { uri, languageId: 'typescript', version: 1, text } },
    });
    return uri;
  }

  /** What is shown where the pointer rests, as Markdown. */
  async hover(uri: string, position: Position): Promise<string> {
    const shown = (await this.#request('textDocument/hover', {
      textDocument: { uri },
      position,
    })) as { readonly contents: { readonly value: string } } | null; // as the protocol says
    return shown?.contents.value ?? '';
  }

  async signatureHelp(uri: string, position: Position): Promise<SignatureHelp> {
    const shown = await this.#request('textDocument/signatureHelp', {
      textDocument: { uri },
      position,
    });
    return (shown ?? { signatures: [] }) as SignatureHelp; // as the protocol says
  }

  async stop(): Promise<void> {
    try {
      await this.#request('shutdown');
    } finally {
      this.#process.stdin.end(); // which ends the compiler behind it
    }
  }

  #request(method: string, params?: unknown): Promise<unknown> {
    const id = ++this.#requests;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, ({ result, error }) => {
        if (error === undefined) resolve(result);
        else reject(new Error(`${method}: ${error.message}`));
      });
      this.#send({ id, method, ...(params !== undefined && { params }) });
    });
  }

  #send(message: object): void {
    const text = JSON.stringify({ jsonrpc: '2.0', ...message });
    this.#process.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  }

  #read(chunk: Buffer): void {
    this.#unread = Buffer.concat([this.#unread, chunk]);
    for (;;) {
      const head = this.#unread.indexOf('\r\n\r\n');
      if (head < 0) return;
      const length = Number(
        /Content-Length: (\d+)/i.exec(this.#unread.toString('utf8', 0, head))![1],
      );
      const end = head + 4 + length;
      if (this.#unread.length < end) return;
      const message = JSON.parse(this.#unread.toString('utf8', head + 4, end)) as Message;
      this.#unread = this.#unread.subarray(end);
      this.#take(message);
    }
  }

  #take({ id, method, ...rest }: Message): void {
    if (method === undefined) this.#waiting.get(Number(id))?.(rest);
    // Whatever the server asks its editor for, there is nothing.
    else if (id !== undefined) this.#send({ id, result: null });
  }
}

export interface Position {
  readonly line: number;
  readonly character: number;
}

/** Where a piece of a text begins, or `offset` characters behind that. */
export function positionOf(text: string, piece: string, offset = 0): Position {
  const at = text.indexOf(piece);
  if (at < 0) throw new Error(`there is no ${piece}`);
  const before = text.slice(0, at + offset).split('\n');
  return { line: before.length - 1, character: before.at(-1)!.length };
}
