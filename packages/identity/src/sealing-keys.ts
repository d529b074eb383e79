/** Keys with which the processes of one gateway sign and seal. */

const keyBytes = 32;
/** Bound on the number of keys; a rotation needs two for a while. */
const maxKeys = 16;

/** A command that makes a key, for messages. */
export const sealingKeyRecipe = 'openssl rand -base64 32';

/** The keys that the processes of one gateway share, the newest first. */
export type SealingKeys = readonly [Buffer, ...Buffer[]];

/**
 * Parses keys as an operator writes them: base64, separated by commas or white space. The first one seals, all of them open.
 * @throws {Error} that names the position of a wrong key, and no part of it.
 */
export function parseSealingKeys(text: string): SealingKeys {
  const written = text.split(/[\s,]+/).filter((key) => key !== '');
  if (written.length === 0) throw new Error(`there is no key in it; make one: ${sealingKeyRecipe}`);
  if (written.length > maxKeys) throw new Error(`it has ${written.length} keys; ${maxKeys} are allowed`);
  const [first, ...more] = written.map((key, index) => {
    const which = written.length === 1 ? 'the key' : `key ${index + 1} of ${written.length}`;
    if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(key)) throw new Error(`${which} is not base64; make one: ${sealingKeyRecipe}`);
    const bytes = Buffer.from(key, 'base64');
    if (bytes.length < keyBytes)
      throw new Error(`${which} has ${bytes.length} bytes; at least ${keyBytes} are needed: ${sealingKeyRecipe}`);
    return bytes;
  });
  return [first as Buffer, ...more];
}
