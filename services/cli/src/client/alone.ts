/**
 * The configuration of a gateway that opens no port: its one client speaks to it over streams, so there is nobody to tell apart, and no address at which others
 * reach it. What the file says of these is about the same gateway when it serves a network.
 */
import { isOfThisMachine, type Config } from '@omnibus/config';

export function aloneOf({ auth: _auth, publicUrl: _publicUrl, ...config }: Config): Config {
  return { ...config, bus: 'memory', listen: isOfThisMachine(config.listen) ? config.listen : '127.0.0.1:0' };
}
