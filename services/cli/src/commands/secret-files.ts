/** Secrets of servers that commands write into the configuration: each goes into a file of its own beside it, which only its owner can read. */
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isObject, type JsonObject } from '@omnibus/protocol';
import { readText } from '../output/write-file.ts';

/** A file to write. */
export interface Secret {
  readonly file: string;
  readonly text: string;
}

/** Names of environment variables and headers whose values are treated as secrets. */
const secretName = /key|token|secret|password|passwd|authorization|credential|cookie/i;

/**
 * Moves secrets of an entry into files, to which the entry refers as `${file:...}`.
 * @param file the configuration.
 * @param secrets the files to write, to which those of this entry are added.
 * @param more names of environment variables and headers that are secret whatever they look like.
 */
export function hideSecrets(
  entry: JsonObject,
  server: string,
  file: string,
  secrets: Secret[],
  more: ReadonlySet<string> = new Set(),
): JsonObject {
  const isSecretName = (name: string): boolean => more.has(name) || secretName.test(name);
  const hide = (name: string, value: unknown, isSecret: boolean): unknown => {
    // `$${` is a plain `${`; anything else with it is a reference.
    if (typeof value !== 'string' || value === '' || !isSecret || value.replaceAll('$${', '').includes('${'))
      return value;
    const text = value.replaceAll('$${', '${');
    const path = secretFile(file, `${server}-${name.replaceAll(/[^A-Za-z0-9_-]/g, '_')}`, name, text, secrets);
    secrets.push({ file: path, text });
    return `\${file:${path.slice(dirname(file) === '.' ? 0 : dirname(file).length + 1)}}`;
  };
  const within = (given: unknown, isSecret: (name: string) => boolean): unknown =>
    isObject(given)
      ? Object.fromEntries(Object.entries(given).map(([name, value]) => [name, hide(name, value, isSecret(name))]))
      : given;
  const { env, headers, credentials } = entry;
  return Object.fromEntries(
    Object.entries({
      ...entry,
      env: within(env, isSecretName),
      headers: within(headers, isSecretName),
      credentials: within(credentials, (name) => name === 'clientSecret'),
    }).filter(([, value]) => value !== undefined),
  );
}

/** A file for a secret: one of its own, even where two names differ in signs alone. */
function secretFile(file: string, name: string, given: string, text: string, secrets: readonly Secret[]): string {
  const path = join(`${file.replace(/\.[^.]*$/, '')}.secrets`, name);
  const isTaken = secrets.some((secret) => secret.file.toLowerCase() === path.toLowerCase());
  return isTaken ? `${path}-${createHash('sha256').update(`${given}\0${text}`).digest('hex').slice(0, 8)}` : path;
}

export function writeSecret({ file, text }: Secret): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(file, `${text}\n`, { mode: 0o600 });
}

/** Whether the file has this secret already. @throws {Error} in words, if it cannot be read. */
export function isWritten({ file, text }: Secret): boolean {
  return readText(file) === `${text}\n`;
}
