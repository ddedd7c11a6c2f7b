/** An optional peer dependency: `runtimeIn` checks that it is what is needed. */
declare module 'onnxruntime-web' {
  const runtime: unknown;
  export default runtime;
}
