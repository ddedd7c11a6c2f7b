import type * as protobuf from '@bufbuild/protobuf';
import { UnsupportedError } from '../../../base/errors.js';
import type * as schema from './onnx_pb.js';

/** The part of the optional protocol buffers library that models need. */
export interface Protobuf {
  readonly fromBinary: typeof protobuf.fromBinary;
  readonly toBinary: typeof protobuf.toBinary;
  readonly create: typeof protobuf.create;
  readonly schema: typeof schema;
}

/** Initializer of a message, without instances of messages. */
export type Parts<S extends protobuf.DescMessage> = Exclude<
  protobuf.MessageInitShape<S>,
  { readonly $typeName: string }
>;

async function load(): Promise<Protobuf | { readonly cause: unknown }> {
  try {
    const [{ fromBinary, toBinary, create }, messages] = await Promise.all([
      import('@bufbuild/protobuf'),
      import('./onnx_pb.js'),
    ]);
    return { fromBinary, toBinary, create, schema: messages };
  } catch (cause) {
    return { cause };
  }
}

const loaded = await load();

/** @throws UnsupportedError when the library is not installed. */
export function protobufFor(op: string): Protobuf {
  if (!('cause' in loaded)) return loaded;
  throw new UnsupportedError('ONNX files need a library for protocol buffers', {
    op,
    expected: '@bufbuild/protobuf 2',
    advice: 'npm install @bufbuild/protobuf',
    cause: loaded.cause,
  });
}
