/**
 * The configuration of a gateway that opens no port: its one client speaks to it over streams, so there are no other callers, and no address at which others
 * reach it. Such options of the file apply when the same gateway serves a network.
 */
import { isOfThisMachine, type Config } from '@omnibus/config';

export function aloneOf({ auth: _auth, publicUrl: _publicUrl, ...config }: Config): Config {
  return { ...config, bus: 'memory', listen: isOfThisMachine(config.listen) ? config.listen : '127.0.0.1:0' };
}
