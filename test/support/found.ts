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

/** The places of any of the secrets in the text. */
export function findSecrets(secrets: readonly string[], written: Written): readonly Finding[] {
  const found: Finding[] = [];
  for (const secret of new Set(secrets)) {
    for (const [text, form] of new Map(Object.entries(formsOf(secret)).map(([name, text]) => [text, name]))) {
      for (const [place, content] of Object.entries(written)) {
        const at = content.indexOf(text);
        if (at >= 0)
          found.push({
            place,
            form,
            around: content.slice(Math.max(0, at - aroundCharacters), at + text.length + aroundCharacters),
          });
      }
    }
  }
  return found;
}
