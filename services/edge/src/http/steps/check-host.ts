import { fault, type GatewayFault } from '@omnibus/protocol';

export const loopbackNames: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];

/**
 * Refuses a Host that is not on the list: a web page whose DNS name was rebound to this machine sends its own name (security best practices, DNS rebinding).
 * @param allowedHosts undefined permits any.
 */
export function checkHost(
  host: string | undefined,
  allowedHosts: ReadonlySet<string> | undefined,
): GatewayFault | undefined {
  if (allowedHosts === undefined) return undefined;
  if (host !== undefined && allowedHosts.has(host.replace(/:\d+$/, '').toLowerCase())) return undefined;
  return fault('host.forbidden', 'this Host is not on security.allowedHosts');
}
