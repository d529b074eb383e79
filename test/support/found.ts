/** Looks for secrets in everything that processes have written or sent, in every form in which a secret can be written down. */

/** How something was written, with a name for it. */
export type Written = Readonly<Record<string, string>>;

/** Where a secret was found: the name of the place, and the text around it. */
export interface Finding {
  readonly place: string;
  readonly form: string;
  readonly around: string;
}

const aroundCharacters = 120;

/**
 * The forms of a secret: as it is, in JSON, in an address, in a form, in hexadecimal digits, and in base64, alone or inside something longer, where
 * it can begin at each of three places of a group.
 */
function formsOf(secret: string): Readonly<Record<string, string>> {
  const bytes = Buffer.from(secret);
  const forms: Record<string, string> = {
    plain: secret,
    json: JSON.stringify(secret).slice(1, -1),
    address: encodeURIComponent(secret),
    form: new URLSearchParams([['', secret]]).toString().slice(1),
    hex: bytes.toString('hex'),
  };
  for (const encoding of ['base64', 'base64url'] as const) {
    // The first and the last characters of a group depend on what stands before and after the secret.
    for (const before of [0, 1, 2])
      forms[`${encoding} ${before}`] = Buffer.concat([
        Buffer.alloc(before),
        bytes.subarray(0, bytes.length - ((bytes.length + before) % 3)),
      ])
        .toString(encoding)
        .slice(before === 0 ? 0 : before + 1);
  }
  return forms;
}

/** Characters of a form that are compared first. No form is shorter. */
const firstCharacters = 4;
const hashes = 1 << 20;

/** A number of the first characters of a form, where they begin in a text. */
function hashAt(text: string, at: number): number {
  let hash = 0;
  for (let index = at; index < at + firstCharacters; index += 1) hash = (hash * 131 + text.charCodeAt(index)) | 0;
  return hash & (hashes - 1);
}

/** The places of any of the secrets in the text. Each text is read once, however many secrets there are. */
export function findSecrets(secrets: readonly string[], written: Written): readonly Finding[] {
  const names = new Map<string, string>();
  for (const secret of new Set(secrets))
    for (const [name, text] of Object.entries(formsOf(secret))) names.set(text, name);
  const short = [...names.keys()].find((text) => text.length < firstCharacters);
  if (short !== undefined) throw new Error(`too short to look for: ${short}`);
  const byHash = Map.groupBy(names.keys(), (text) => hashAt(text, 0));
  const isFirst = new Uint8Array(hashes);
  for (const hash of byHash.keys()) isFirst[hash] = 1;
  const found: Finding[] = [];
  for (const [place, content] of Object.entries(written)) {
    const left = new Set(names.keys());
    for (let at = 0; at <= content.length - firstCharacters; at += 1) {
      const hash = hashAt(content, at);
      if (isFirst[hash] === 0) continue;
      for (const text of byHash.get(hash) ?? []) {
        // The first place of each form is enough.
        if (!content.startsWith(text, at) || !left.delete(text)) continue;
        const around = content.slice(Math.max(0, at - aroundCharacters), at + text.length + aroundCharacters);
        found.push({ place, form: names.get(text) as string, around });
      }
    }
  }
  return found;
}
