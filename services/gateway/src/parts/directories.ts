/** The directories of providers (`auth.scim`), as every process knows their users; undefined where none is configured. */
import { Directory, openingAdvice } from '@omnibus/bus';
import type { Config } from '@omnibus/config';
import type { Part } from '../part.ts';
import { connectedBus } from './bus.ts';

const hasDirectories = ({ auth }: Config): boolean => auth !== undefined && auth !== 'none' && auth.scim.length > 0;

export const directories: Part<Directory | undefined> = {
  name: 'the directories of providers',
  isIn: ({ options }) => options.isServing,
  async start(host) {
    if (!hasDirectories(host.config)) return { offers: undefined };
    const bus = host.of(connectedBus);
    if (!bus.isDurable && host.config.sessions.store === undefined)
      throw new Error(
        'auth.scim: users of a directory must survive a restart, since providers send each change once: set `sessions.store`, or connect to NATS (`bus`)',
      );
    try {
      const directory = await Directory.open(bus);
      return { offers: directory, stop: () => directory.close() };
    } catch (error) {
      throw new Error(`the users of directories (auth.scim) cannot be read: ${openingAdvice(error)}`, { cause: error });
    }
  },
};
