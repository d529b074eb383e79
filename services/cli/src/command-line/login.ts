/** Commands by which the user of this machine signs in to a gateway. */
import type { Command } from 'commander';
import { loaded } from './loaded.ts';
import { shared } from './shared-options.ts';

export function addLogin(program: Command): void {
  const command = (name: string, description: string): Command =>
    program
      .command(name)
      .description(description)
      .argument('<url>', 'address of the gateway, such as https://mcp.example.com/mcp')
      .option(...shared.tokens)
      .option(...shared.json);

  command('login', 'sign in to a gateway with your browser')
    .option('--client-id <id>', 'client id, where a client was registered by hand')
    .option('--client-secret <secret>', 'secret of that client, if it has one')
    .option('--scope <scope...>', 'scopes to ask for in addition to those that the gateway names, such as mcp:admin')
    .option(
      '--device',
      'sign in by a code that you type on another device, if the authorization server supports that (default: where this machine has no display)',
    )
    .option('--no-browser', 'print the address instead of opening a browser')
    .action(loaded(async () => (await import('../commands/login.ts')).login));

  command('logout', 'forget the tokens for a gateway, and revoke them where its issuer allows that').action(
    loaded(async () => (await import('../commands/login.ts')).logout),
  );

  command('whoami', 'show your identity at a gateway').action(
    loaded(async () => (await import('../commands/login.ts')).whoAmI),
  );

  command('token', 'print a valid access token for a gateway; it is refreshed first if it has expired').action(
    loaded(async () => (await import('../commands/login.ts')).printToken),
  );
}
