/** What can be asked for at the admin port, besides whether the process is well. */
export const adminActs = ['metrics', 'status', 'whoami', 'reload', 'sessions', 'restart', 'keys.list', 'keys.change', 'users.list', 'users.change', 'blocks.list', 'blocks.change', 'usage', 'connections.list', 'connections.change', 'vault.status', 'vault.rotate', 'definitions.list', 'definitions.approve', 'console', 'configuration', 'policy', 'audit', 'calls', 'payloads', 'sessions.end', 'try', 'approvals.list', 'approvals.decide', 'recovery'] as const;
export type AdminAct = (typeof adminActs)[number];
