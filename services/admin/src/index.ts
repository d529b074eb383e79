export type { Reloaded } from './api/options.ts';
export { wordOf } from './api/audit-rows.ts';
export { shownVault } from './api/vault-desk.ts';
export { openAdmin } from './open-admin.ts';
export type { OpenedAdmin } from './open-admin.ts';
export { readTime } from './record-times.ts';
export { recoveryProof } from './recovery.ts';
export { adviceFor } from './server-advice.ts';
export type { ProcessStatus } from './status.ts';
