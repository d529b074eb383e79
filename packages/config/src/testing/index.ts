export { configOf, loadedFrom } from './config-of.ts';
export { mistakes } from './mistakes.ts';
