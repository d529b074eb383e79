/** What `${vault:MOUNT/PATH#FIELD}` says. The path is that of `vault kv get`, with any version of the key-value engine. */

export interface VaultReference {
  /** Mount and path, without slashes at the ends. */
  readonly path: string;
  /** Version of the secret (KV v2); undefined: the newest. */
  readonly version: number | undefined;
  readonly field: string;
}

const form = /^([^?#]+)(?:\?version=([1-9]\d{0,8}))?#(.+)$/s;
/** Bound on one reference: no store takes paths or names anywhere near it. */
const maxLength = 1_024;

/** @param text what follows `vault:`. @returns undefined where it is no such reference. */
export function parseVaultReference(text: string): VaultReference | undefined {
  const [, path = '', version, field = ''] = (text.length > maxLength ? null : form.exec(text)) ?? [];
  const parts = path.replaceAll(/^\/|\/$/g, '').split('/');
  // "." and ".." would lead a request elsewhere than the reference says.
  if (
    parts.length < 2 ||
    parts.some((part) => part === '' || part === '.' || part === '..' || /[\p{Cc}\p{Cs}]/u.test(part))
  )
    return undefined;
  return { path: parts.join('/'), version: version === undefined ? undefined : Number(version), field };
}
