import type * as protobuf from '@bufbuild/protobuf';
import { importOptional, optionalPackage } from '../../../base/optional.js';
import type * as library from './protobuf.js';

/** The part of the optional protocol buffers library that models need. */
export type Protobuf = typeof library;

/** Initializer of a message, without instances of messages. */
export type Parts<S extends protobuf.DescMessage> = Exclude<
  protobuf.MessageInitShape<S>,
  { readonly $typeName: string }
>;

const name = '@bufbuild/protobuf';

/** Loads the library, where it is installed. */
export function loadProtobuf(): Promise<void> {
  return importOptional(name, () => import('./protobuf.js'));
}

/** @throws UnsupportedError when the library is not installed. */
export function protobufFor(op: string): Protobuf {
  return optionalPackage(name, op);
}
