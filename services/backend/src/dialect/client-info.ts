import { version } from '@omnibus/protocol';

/** Our `clientInfo` towards servers. Some servers change their behaviour by it, so it never has a client's name. */
export const clientInfo = { name: 'omnibus', title: 'Omnibus MCP gateway', version } as const;
