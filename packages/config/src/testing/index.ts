export { configOf, loadedFrom, loadOptions } from './config-of.ts';
export { mistakes } from './mistakes.ts';
