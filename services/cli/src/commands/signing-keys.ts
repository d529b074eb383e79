/** Shows and rotates the keys with which the authorization server of a running gateway signs tokens. */
import type { SigningKeysSeen } from '@omnibus/admin-api';
import { answerList, notice, runCommand } from '../output/outcome.ts';
import { askApi, type ApiOptions } from './api.ts';

export function listSigningKeys({ json = false, ...options }: ApiOptions): Promise<void> {
  return runCommand(json, async () => show(json, await askApi(options, 'signingKeys', '/signing-keys')));
}

export function rotateSigningKeys({
  json = false,
  atOnce = false,
  ...options
}: ApiOptions & { readonly atOnce?: boolean }): Promise<void> {
  return runCommand(json, async () => {
    const seen = await askApi(options, 'rotateSigningKeys', '/signing-keys', 'POST', { atOnce });
    if (!json)
      notice(
        atOnce
          ? 'omnibus: a new key signs, and all tokens have ended; programs refresh theirs'
          : 'omnibus: the next key is published, and signs in an hour; no token ends',
      );
    show(json, seen);
  });
}

function show(json: boolean, { keys }: SigningKeysSeen): void {
  answerList(json, keys, {
    head: ['KEY', 'STATE', 'FROM, UNTIL', 'MADE'],
    rows: keys.map(({ id, state, at, created }) => [id, state, at ?? '-', created]),
    none: 'there is no key',
  });
}
