/** What one process of the gateway runs: all services, or one of them. */
export type Role = 'all' | 'edge' | 'session' | 'backend';
