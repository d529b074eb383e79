export { Backend } from './backend.ts';
