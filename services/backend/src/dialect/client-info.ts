import { version } from '@omnibus/protocol';

/** Who we are towards servers (`clientInfo`). Some servers switch on it, so it never carries a client's name. */
export const clientInfo = { name: 'omnibus', title: 'Omnibus MCP gateway', version } as const;
