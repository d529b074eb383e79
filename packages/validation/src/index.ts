export { clientProblem } from './compilable.ts';
export { compileSchema } from './compile.ts';
export type { CompiledSchema, Validate } from './compile.ts';
