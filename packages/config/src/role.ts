/** What one process of the gateway runs: all services, one of them, or only the admin port and the bus of several workers (`serve --workers`). */
export type Role = 'all' | 'edge' | 'session' | 'backend' | 'supervisor';

/** The roles that an operator can give a process. */
export type GivenRole = Exclude<Role, 'supervisor'>;
