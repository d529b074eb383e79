/** The commands about the keys with which the gateway's own authorization server signs tokens. */
import type { Command } from 'commander';
import { loaded } from './loaded.ts';
import { asking } from './shared-options.ts';

export function addSigningKeys(program: Command): void {
  const keys = program
    .command('signing-keys')
    .description("the keys with which the gateway's own authorization server signs tokens: list and rotate them");
  asking(keys.command('list'), 'list the keys: the next one, the one that signs, and those that only verify').action(
    loaded(async () => (await import('../commands/signing-keys.ts')).listSigningKeys),
  );
  asking(keys.command('rotate'), 'publish another key, which signs in an hour; the old one verifies for a day more')
    .option('--at-once', 'the new key signs now and the others are removed, so all tokens end: if others know a key')
    .action(loaded(async () => (await import('../commands/signing-keys.ts')).rotateSigningKeys));
}
