/** Rights that belong to a credential instead of its holder: those of an API key that is restricted to some tools. */
import { hash } from 'node:crypto';
import { Rights } from './rights.ts';
import { compileRule } from './rule.ts';

/**
 * The rights of a restricted credential, in addition to the rules under `access`: everything else is hidden.
 * @param selectors as in rules: `server/tool`, `prompt:server/name`, `resource:server/uri`, a server, or `*`. One that this version cannot read permits
 * nothing.
 */
export function rightsToOnly(selectors: readonly string[]): Rights {
  const rules = compileRule({ id: 'key', who: 'everyone', allow: selectors }, 0, {});
  return new Rights(
    `only.${hash('sha256', JSON.stringify(selectors), 'base64url').slice(0, 16)}`,
    ['problems' in rules ? [] : rules],
    'deny',
  );
}
