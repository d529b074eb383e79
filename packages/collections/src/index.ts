export { KeyedLink, KeyedRing } from './keyed-ring.ts';
export { Link, Ring } from './ring.ts';
export { SlotTable } from './slot-table.ts';
