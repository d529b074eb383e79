export type { Exchange } from './exchange/open-exchange.ts';
export { openPages } from './own-user.ts';
export type { Pages } from './own-user.ts';
