import { natsUsers } from '@omnibus/bus';
import { findSettings } from './settings.ts';

/** Prints the users of a NATS that has one for each role, for the prefix and domain of a configuration; passwords come from NATS' environment. */
export function printPermissions({ config: file }: { readonly config?: string }): void {
  const settings = findSettings(file, {});
  if (settings === undefined) return;
  const users = natsUsers((role) => `$${role.toUpperCase()}_PASSWORD`, settings.config.nats);
  // A variable of NATS stands without quotes.
  process.stdout.write(`authorization { users: [\n${users.replaceAll(/password: "(\$[A-Z]+_PASSWORD)"/g, 'password: $1')}\n] }\n`);
}
