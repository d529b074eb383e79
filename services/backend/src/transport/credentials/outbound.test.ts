/** How issuers are reached that a server names. */
import { expect, it } from 'vitest';
import { Agents } from '../agents.ts';
import { issuersOf, outbound } from './outbound.ts';

it.each(['https://127.0.0.1/token', 'https://169.254.169.254/token', 'https://localhost/token'])(
  '%s is refused with the option that would allow it',
  async (address) => {
    const agents = new Agents();
    const fetch = outbound(agents.of(issuersOf(['https://server.example/mcp'], [])));
    await expect(fetch(address)).rejects.toThrow(
      /cannot be asked: the address is not allowed: .*; see `allowedHosts` of the server's `credentials`$/,
    );
    await agents.destroy();
  },
);
