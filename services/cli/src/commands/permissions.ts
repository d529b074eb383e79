import { natsUsers } from '@omnibus/bus';
import { answer, runCommand } from '../output/outcome.ts';
import { needSettings, partOfNats } from './settings.ts';

/** Prints the configuration of NATS users, one for each role and one for the set-up, for the prefix and domain of a configuration; NATS reads the passwords from its environment. */
export function printPermissions({ config: file }: { readonly config?: string }): Promise<void> {
  return runCommand(false, async () => {
    const { config } = await needSettings(file, {}, { connects: false, part: partOfNats });
    const users = natsUsers((user) => `$${user.toUpperCase()}_PASSWORD`, config.nats);
    // NATS replaces a variable only where it stands without quotes.
    answer(`authorization { users: [\n${users.replaceAll(/password: "(\$[A-Z]+_PASSWORD)"/g, 'password: $1')}\n] }\n`);
  });
}
