/**
 * Tokens of Kubernetes service accounts, which the cluster's API server checks (`TokenReview` of authentication.k8s.io/v1); it also knows when the account,
 * or the pod that a token is bound to, is gone.
 */
import { readFileSync } from 'node:fs';
import { request as requestPlain } from 'node:http';
import { request as requestSecure } from 'node:https';
import { decodeJwt } from 'jose';
import { fault, isObject, type JsonObject } from '@omnibus/protocol';
import { factsWithoutToken } from '../facts.ts';
import { isName } from '../names.ts';
import { canonical, toleranceSeconds } from './claims.ts';
import type { Outcome } from './issuer.ts';
import { seldom } from './seldom.ts';

export interface TokenReviewOptions {
  /** The issuer of the cluster's tokens. Default: the issuer of the token in `tokenFile`. Only tokens of this issuer are sent to the API server. */
  readonly issuer?: string | undefined;
  /** Address of the API server: `https://kubernetes.default.svc`. Behind a proxy of several clusters it has a path. */
  readonly apiServer: string;
  /** File with the certificate of the authority that signed the server's certificate, PEM. */
  readonly caFile: string;
  /** File with the token of an account that may create `tokenreviews`. It is read for each request, since it is replaced from time to time. */
  readonly tokenFile: string;
}

/** The peer has closed the connection of an earlier request. */
class StaleConnection extends Error {}

const path = '/apis/authentication.k8s.io/v1/tokenreviews';
const answerMs = 5_000;
const maxBytes = 256 * 1024;
const maxAudiences = 10;
const maxGroups = 200;
const maxNameBytes = 512;

export class TokenReview {
  readonly issuer: string;
  readonly #options: TokenReviewOptions;
  readonly #noAnswer: (problem: string) => void;

  /**
   * @param noAnswer gets the reason, in words for the operator, why the API server does not answer.
   * @throws {Error} in words for the operator when a file cannot be read, or no issuer is found.
   */
  constructor(options: TokenReviewOptions, noAnswer: (problem: string) => void) {
    this.#options = options;
    this.#noAnswer = seldom(noAnswer);
    read('the authority of the API server', options.caFile);
    const own = read('the token of the service account', options.tokenFile);
    this.issuer = options.issuer ?? issuerOf(own, options.tokenFile);
  }

  /** @param token a JWT that names the cluster's issuer. */
  async verify(token: string): Promise<Outcome> {
    const { aud, exp } = decodeJwt(token);
    const audiences = (Array.isArray(aud) ? aud : [aud]).filter((one) => typeof one === 'string');
    if (audiences.length === 0 || audiences.length > maxAudiences || typeof exp !== 'number')
      return invalid('it has no audience, too many, or no expiry');
    let status: unknown;
    try {
      ({ status } = await this.#ask({
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenReview',
        spec: { token, audiences },
      }));
    } catch (error) {
      this.#noAnswer((error as Error).message);
      return { fault: fault('auth.unavailable', 'the API server of the cluster cannot be asked about tokens now') };
    }
    // The words of the API server may repeat parts of the token, so they are not shown.
    if (!isObject(status) || status['authenticated'] !== true || !isObject(status['user']))
      return invalid('the cluster does not know it, or it has expired');
    const { username, groups = [] } = status['user'];
    if (
      typeof username !== 'string' ||
      username === '' ||
      Buffer.byteLength(username) > maxNameBytes ||
      !isTexts(groups) ||
      groups.length > maxGroups ||
      ![username, ...groups].every(isName)
    )
      return invalid('the cluster names nobody by it');
    // An API server that returns no audiences has not checked them.
    const proven = status['audiences'];
    if (!isTexts(proven)) return invalid('the cluster does not say whom it is for');
    const expiresAt = (exp + toleranceSeconds) * 1_000;
    const facts = factsWithoutToken({ issuer: this.issuer, subject: username }, { groups, expiresAt });
    return { facts, audiences: proven.map(canonical) };
  }

  /**
   * Sends a review, which changes nothing: where a connection from before turns out to be closed, as after a restart of the API server, it is sent over a new one.
   * @throws {Error} in words that contain nothing of the request.
   */
  async #ask(review: JsonObject): Promise<JsonObject> {
    try {
      return await this.#send(review, true);
    } catch (error) {
      if (!(error instanceof StaleConnection)) throw error;
      return this.#send(review, false);
    }
  }

  #send(review: JsonObject, reuses: boolean): Promise<JsonObject> {
    const { apiServer, caFile, tokenFile } = this.#options;
    const url = new URL(`${apiServer.replace(/\/$/, '')}${path}`);
    const body = JSON.stringify(review);
    return new Promise((resolve, reject) => {
      const options = {
        method: 'POST',
        ...(reuses ? {} : { agent: false as const }),
        ca: readFileSync(caFile),
        signal: AbortSignal.timeout(answerMs),
        headers: {
          'content-type': 'application/json',
          accept: 'application/json',
          'content-length': Buffer.byteLength(body),
          authorization: `Bearer ${readFileSync(tokenFile, 'utf8').trim()}`,
        },
      };
      const asked = (url.protocol === 'https:' ? requestSecure : requestPlain)(url, options, (response) => {
        const chunks: Buffer[] = [];
        let bytes = 0;
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > maxBytes) asked.destroy(new Error(`its answer is larger than ${maxBytes} bytes`));
          else chunks.push(chunk);
        });
        response.on('error', reject);
        response.on('end', () => {
          const { statusCode = 0 } = response;
          if (statusCode === 401)
            reject(
              new Error(
                'the token in auth.kubernetes.tokenFile is not accepted: it has expired and was not replaced, or its account is gone',
              ),
            );
          else if (statusCode === 403)
            reject(
              new Error('the gateway may not create tokenreviews (bind its service account to system:auth-delegator)'),
            );
          else if (statusCode !== 200 && statusCode !== 201) reject(new Error(`it answered ${statusCode}`));
          else settle(Buffer.concat(chunks), resolve, reject);
        });
      });
      asked.on('error', (error) =>
        reject(
          asked.reusedSocket && (error as NodeJS.ErrnoException).code === 'ECONNRESET'
            ? new StaleConnection(error.message)
            : error,
        ),
      );
      asked.end(body);
    });
  }
}

const invalid = (why: string): Outcome => ({ fault: fault('auth.invalid', `the token is not accepted: ${why}`) });

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string');

function settle(bytes: Buffer, resolve: (answer: JsonObject) => void, reject: (error: Error) => void): void {
  try {
    const answer: unknown = JSON.parse(bytes.toString());
    if (isObject(answer)) resolve(answer);
    else reject(new Error('its answer is no object'));
  } catch {
    reject(new Error('its answer is no JSON'));
  }
}

function read(what: string, file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new Error(
      `${what}, ${file}, cannot be read (auth.kubernetes): ${(error as NodeJS.ErrnoException).code === 'ENOENT' ? 'it is not there' : String(error)}`,
      { cause: error },
    );
  }
}

function issuerOf(token: string, file: string): string {
  try {
    const { iss } = decodeJwt(token);
    if (typeof iss === 'string' && iss !== '') return iss;
  } catch (error) {
    throw new Error(`${file} holds no token of a service account: ${(error as Error).message}`, { cause: error });
  }
  throw new Error(`the token in ${file} names no issuer: set auth.kubernetes.issuer`);
}
