/**
 * Removes secrets from messages of servers. Secrets that we sent to a server (headers, environment, credentials in its address or its arguments) must not reach a
 * client through it. From texts for the operator's log, everything that looks like a secret is removed too.
 */
import { secretArguments, secretName, secretsOfUrl, type ServerConfig } from '@omnibus/config';
import { isObject, printable, withoutSecrets } from '@omnibus/protocol';

const mark = '[secret]';
/** Shorter secrets are everyday words, and their removal would spoil texts without hiding anything. */
const minLength = 4;
const harmless = new Set([
  'true',
  'false',
  'null',
  'none',
  'auto',
  'info',
  'debug',
  'warn',
  'error',
  'trace',
  'production',
  'development',
  'test',
  'localhost',
  'utf-8',
  'utf8',
  'json',
  'stdio',
  'http',
  'https',
  '127.0.0.1',
  '0.0.0.0',
]);
/** Bound on searched characters of an excerpt. */
const maxLookedAt = 16_384;

export class Redactor {
  /** Longest first, so that no part of a longer secret remains. */
  readonly #secrets: readonly string[];
  /** Secrets that change while the server is in use, such as tokens. */
  readonly #passing: () => readonly string[];

  constructor(secrets: Iterable<string>, passing: () => readonly string[] = () => []) {
    this.#passing = passing;
    const all = new Set<string>();
    for (const secret of secrets) {
      // The secret as it is, and in the form that it has in JSON or in a URL.
      for (const form of [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)])
        if (form.length >= minLength && !harmless.has(form.toLowerCase())) all.add(form);
    }
    this.#secrets = [...all].toSorted((a, b) => b.length - a.length);
  }

  /** The redactor for all secrets in a server's configuration. */
  static of(
    config: Pick<ServerConfig, 'headers' | 'env' | 'args' | 'url'>,
    passing?: () => readonly string[],
  ): Redactor {
    return new Redactor(
      [
        ...Object.values(config.headers).flatMap(partsOfHeader),
        ...Object.entries(config.env)
          .filter(([name, value]) => secretName.test(name) || !isPlain(value))
          .map(([, value]) => value),
        ...secretArguments(config.args),
        ...(config.url === undefined ? [] : secretsOfUrl(config.url)),
      ],
      passing,
    );
  }

  /** Removes what we sent ourselves. */
  sent(text: string): string {
    let redacted = text;
    for (const secret of this.#secrets) if (redacted.includes(secret)) redacted = redacted.replaceAll(secret, mark);
    for (const secret of this.#passing())
      if (secret.length >= minLength && redacted.includes(secret)) redacted = redacted.replaceAll(secret, mark);
    return redacted;
  }

  /** Removes them from every text of a JSON value, keys included. The value must not nest deeper than messages may. */
  sentIn(value: unknown): unknown {
    if (this.#secrets.length === 0 && this.#passing().length === 0) return value;
    if (typeof value === 'string') return this.sent(value);
    if (Array.isArray(value)) return value.map((item) => this.sentIn(item));
    return isObject(value)
      ? Object.fromEntries(Object.entries(value).map(([key, item]) => [this.sent(key), this.sentIn(item)]))
      : value;
  }

  /** An excerpt for the operator's log: one line, without control characters and recognizable secrets. */
  excerpt(text: string, maxLength?: number): string {
    // Searches much more text than it keeps, so that a secret is not cut in half, but little enough to be fast.
    return printable(withoutSecrets(this.sent(text.slice(0, maxLookedAt)), mark), maxLength);
  }
}

/** Whether a value is a number, a switch or a path, and so surely no secret. */
function isPlain(value: string): boolean {
  return /^[\d.]*$|^\.{0,2}\//.test(value);
}

/** The secret parts of a header: `x` of `Bearer x`, and the name and password in `Basic x`. */
function partsOfHeader(value: string): string[] {
  const [, kind, credentials] = /^(\w+)\s+(\S+)$/.exec(value) ?? [];
  if (kind === undefined || credentials === undefined) return [value];
  if (kind.toLowerCase() !== 'basic') return [value, credentials];
  const plain = Buffer.from(credentials, 'base64').toString('utf8');
  return [value, credentials, plain, plain.slice(plain.indexOf(':') + 1)];
}
