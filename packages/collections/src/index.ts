export { KeyedLink, KeyedRing } from './keyed-ring.ts';
export { mostPieces, Pieces } from './pieces.ts';
export { Link, Ring } from './ring.ts';
export { setLast } from './set-last.ts';
export { SlotTable } from './slot-table.ts';
