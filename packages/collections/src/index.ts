export { Link, Ring } from './ring.ts';
export { SlotTable } from './slot-table.ts';
