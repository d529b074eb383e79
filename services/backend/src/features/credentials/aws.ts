/**
 * Requests that are signed for a service of Amazon Web Services (Signature Version 4), with the credentials of this workload as the AWS SDK finds them: environment
 * variables, profiles, the web identity of a pod, the role of a container or machine. Both libraries are loaded only where a server has such credentials.
 */
import { CredentialProblem, type HeaderSource, type SentHeaders } from '@omnibus/credentials';
import { printable } from '@omnibus/protocol';
import type { AwsCredentialIdentity } from '@aws-sdk/types';
import type aws4 from 'aws4';

export interface AwsOptions {
  /** The name of the service in signatures. */
  readonly service: string;
  readonly region: string;
  readonly profile?: string | undefined;
  readonly asked: (outcome: 'good' | 'refused' | 'unavailable', problem?: string) => void;
}

/** Credentials are not used this shortly before they expire, since they might expire on their way. */
const marginMs = 60_000;
/** After a failure, credentials are not looked for this long. */
const pauseMs = 5_000;
/** How long credentials are looked for: a machine that has none waits for its metadata service. */
const findMs = 20_000;

/** Errors in front of every service that say that credentials are not good any more, or not known (AWS Common Errors). */
const refusals =
  /^(ExpiredToken|InvalidClientTokenId|UnrecognizedClient|InvalidAccessKeyId|InvalidToken|MissingAuthenticationToken)/;

interface Held {
  /** What marks requests that were signed with these credentials. */
  readonly headers: SentHeaders;
  readonly credentials: AwsCredentialIdentity;
  readonly sign: typeof aws4.sign;
}

export class AwsSignatures implements HeaderSource {
  readonly #options: AwsOptions;
  #held: Held | undefined;
  #asking: Promise<SentHeaders> | undefined;
  #failure: { readonly problem: CredentialProblem; readonly until: number } | undefined;
  #secrets: readonly string[] = [];

  constructor(options: AwsOptions) {
    this.#options = options;
  }

  get secrets(): readonly string[] {
    return this.#secrets;
  }

  get current(): SentHeaders | undefined {
    const held = this.#held;
    return held === undefined || isExpiring(held.credentials) ? undefined : held.headers;
  }

  ask(): Promise<SentHeaders> {
    const { current } = this;
    if (current !== undefined) return Promise.resolve(current);
    if (this.#failure !== undefined && Date.now() < this.#failure.until) return Promise.reject(this.#failure.problem);
    this.#asking ??= this.#find().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async refused(sent: SentHeaders): Promise<boolean> {
    if (this.#held?.headers !== sent) return true;
    const {
      credentials: { accessKeyId },
    } = this.#held;
    this.#held = undefined;
    await this.ask();
    // The same credentials would be refused again.
    return (this.#held as Held | undefined)?.credentials.accessKeyId !== accessKeyId;
  }

  gaveUp(): Promise<false> {
    this.#held = undefined;
    return Promise.resolve(false);
  }

  isRefusal(status: number, header: (name: string) => unknown): boolean {
    const type = header('x-amzn-errortype');
    return status === 403 && typeof type === 'string' && refusals.test(type);
  }

  prove(sent: SentHeaders, method: string, address: string, body?: string): SentHeaders | undefined {
    const held = this.#held;
    if (held === undefined) return undefined;
    const { service, region } = this.#options;
    const { host, pathname, search } = new URL(address);
    const { accessKeyId, secretAccessKey, sessionToken } = held.credentials;
    const request = {
      service,
      region,
      method,
      host,
      path: `${pathname}${search}`,
      headers: { ...sent, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body }),
    };
    // Both are set later, and may be changed on the way.
    const signed = held.sign(
      Object.assign(request, { extraHeadersToIgnore: { 'content-type': true, 'content-length': true } }),
      { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) },
    );
    const given = Object.entries(signed.headers ?? {}).map(
      ([name, value]) => [name.toLowerCase(), String(value)] as const,
    );
    return Object.fromEntries(given.filter(([name]) => name === 'authorization' || name.startsWith('x-amz-')));
  }

  async #find(): Promise<SentHeaders> {
    const { profile, region, asked } = this.#options;
    try {
      const [{ defaultProvider }, { sign }] = await Promise.all([
        import('@aws-sdk/credential-provider-node'),
        import('aws4').then((module) => module.default),
      ]);
      // A new provider each time, and no files that were read before, since files and variables may have changed.
      const credentials = await within(
        findMs,
        defaultProvider({
          ...(profile === undefined ? {} : { profile }),
          clientConfig: { region },
          ignoreCache: true,
        })(),
      );
      this.#held = { credentials, sign, headers: {} };
      this.#secrets = [
        credentials.secretAccessKey,
        ...(credentials.sessionToken === undefined ? [] : [credentials.sessionToken]),
      ];
      this.#failure = undefined;
      asked('good');
      return this.#held.headers;
    } catch (error) {
      const problem = new CredentialProblem(
        `the AWS SDK has found no credentials${profile === undefined ? '' : ` of the profile ${profile}`}: ${printable((error as Error).message, 300)}`,
        { isPassing: true, cause: error },
      );
      this.#failure = { problem, until: Date.now() + pauseMs };
      asked('unavailable', problem.message);
      throw problem;
    }
  }
}

function isExpiring({ expiration }: AwsCredentialIdentity): boolean {
  return expiration !== undefined && expiration.getTime() - Date.now() < marginMs;
}

/** @throws {Error} when the promise is not settled in time. */
async function within<Value>(limitMs: number, promise: Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`there was no answer within ${limitMs / 1_000} s`)), limitMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
