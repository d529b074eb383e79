/**
 * The message for an address on which the program cannot listen.
 * @param error of Node's `listen` (errno(3)).
 * @param address `host:port` as it was configured.
 * @param option that changes the address, such as `--listen`.
 */
export function listenProblem(error: unknown, address: string, option: string): string {
  const { code } = error as NodeJS.ErrnoException;
  const instead = `choose another address with ${option}`;
  switch (code) {
    case 'EADDRINUSE':
      return `${address} is in use; ${instead}`;
    case 'EACCES':
      return `${address} may not be listened on by this user, since its port is one of the system's; choose a port above 1023 with ${option}`;
    case 'EADDRNOTAVAIL':
      return `${address} is no address of this machine; ${instead}`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `the host of ${address} is not known; ${instead}`;
    default:
      return `${address} cannot be listened on (${code ?? String(error)}); ${instead}`;
  }
}
