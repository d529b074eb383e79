/** The token for the secret store: its source and renewal. */
import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { StoreSettings } from '@omnibus/config';
import { isObject, type JsonObject } from '@omnibus/protocol';
import { StoreProblem, StoreRequests, type StoreTarget } from './requests.ts';

type Ways = Pick<StoreSettings, 'token' | 'tokenFile' | 'kubernetes' | 'appRole'>;

interface Held {
  readonly token: string;
  /** Whether the gateway logged in for it. */
  readonly isOurs: boolean;
  /** Milliseconds that it lived when it was new; 0: it does not end. */
  readonly lifeMs: number;
  /** Milliseconds since 1970. */
  readonly endsAt: number;
}

interface LoginOptions {
  readonly target: StoreTarget;
  readonly ways: Ways;
  /** Folder that relative paths start at. */
  readonly folder: string;
  /** Gets reports for the operator, without any token. */
  readonly warn: (problem: string) => void;
}

/** A token is renewed when this part of its life is over, and given up when a renewal brings less than the other part. */
const renewAfter = 2 / 3;
/** Node's timers take no more. */
const longestTimerMs = 2 ** 31 - 1;
/** Bytes of a file with a token. */
const maxFileBytes = 64 * 1024;
/** Milliseconds that the end of a process waits for the store to end its login. */
const revokeMs = 5_000;

export class StoreLogin {
  readonly #options: LoginOptions;
  #held: Held | undefined;
  #asking: Promise<string> | undefined;
  #renewal: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: LoginOptions) {
    this.#options = options;
  }

  /** The token for the next request; callers at the same time share one login. @throws {StoreProblem} */
  async token(requests: StoreRequests): Promise<string> {
    const { tokenFile } = this.#options.ways;
    if (tokenFile !== undefined) return this.#fileText(tokenFile, 'secrets.vault.tokenFile');
    if (this.#isClosed) throw hasEnded();
    if (this.#held !== undefined && (this.#held.lifeMs === 0 || !this.#held.isOurs || Date.now() < this.#held.endsAt))
      return this.#held.token;
    this.#asking ??= this.#obtain(requests).finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  /** Forgets a token that the store refused. @returns whether there may be another one. */
  refused(token: string): boolean {
    if (this.#held?.token !== token) return this.#held !== undefined;
    if (!this.#held.isOurs) return false;
    this.#forget();
    return true;
  }

  /** Ends the login at the store, as well as that can be done quickly: one that the store has not answered yet, too. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const held = this.#held;
    this.#forget();
    let limit: NodeJS.Timeout | undefined;
    await Promise.race([
      Promise.allSettled([held?.isOurs === true ? this.#giveBack(held.token) : undefined, this.#asking]),
      new Promise((resolve) => {
        limit = setTimeout(resolve, revokeMs).unref();
      }),
    ]);
    clearTimeout(limit);
  }

  async #giveBack(token: string): Promise<void> {
    await this.#with(revokeMs, (requests) =>
      requests.ask('auth/token/revoke-self', { method: 'POST', token, body: {} }),
    ).catch(() => undefined);
  }

  async #obtain(requests: StoreRequests): Promise<string> {
    const { token, kubernetes, appRole } = this.#options.ways;
    if (kubernetes !== undefined)
      return this.#logIn(requests, 'kubernetes', kubernetes.mount, {
        role: kubernetes.role,
        jwt: this.#fileText(kubernetes.tokenFile, 'secrets.vault.kubernetes.tokenFile'),
      });
    if (appRole !== undefined) {
      const secretId =
        appRole.secretIdFile === undefined
          ? appRole.secretId
          : this.#fileText(appRole.secretIdFile, 'secrets.vault.appRole.secretIdFile');
      return this.#logIn(requests, 'appRole', appRole.mount, {
        role_id: appRole.roleId,
        ...(secretId === undefined ? {} : { secret_id: secretId }),
      });
    }
    if (token === undefined)
      throw new StoreProblem(
        'refused',
        'the secret store wants a token: set token, tokenFile, kubernetes or appRole of secrets.vault, or the environment variable VAULT_TOKEN',
      );
    // A token that may not look at itself is used as it is.
    const { status, body } = await requests.ask('auth/token/lookup-self', { token });
    const { data } = body;
    const seconds = status === 200 && isObject(data) && data['renewable'] === true ? Number(data['ttl']) : 0;
    this.#hold({ token, isOurs: false, lifeMs: lifeOf(seconds), endsAt: Date.now() + lifeOf(seconds) }, true);
    return token;
  }

  async #logIn(
    requests: StoreRequests,
    option: 'kubernetes' | 'appRole',
    mount: string,
    body: JsonObject,
  ): Promise<string> {
    const path = `auth/${mount
      .replaceAll(/^\/|\/$/g, '')
      .split('/')
      .map(encodeURIComponent)
      .join('/')}/login`;
    const answer = await requests.ask(path, { method: 'POST', body });
    const { auth } = answer.body;
    if (
      answer.status === 200 &&
      isObject(auth) &&
      typeof auth['client_token'] === 'string' &&
      auth['client_token'] !== ''
    ) {
      if (this.#isClosed) {
        await this.#giveBack(auth['client_token']);
        throw hasEnded();
      }
      const life = lifeOf(Number(auth['lease_duration']));
      this.#hold(
        { token: auth['client_token'], isOurs: true, lifeMs: life, endsAt: Date.now() + life },
        auth['renewable'] === true,
      );
      return auth['client_token'];
    }
    const advice =
      answer.status === 404
        ? `there is no such auth method: secrets.vault.${option}.mount names its path, and secrets.vault.namespace its namespace`
        : option === 'appRole'
          ? 'check the role id and the secret id, which may have ended or been used up'
          : 'check secrets.vault.kubernetes.role, and which service accounts, namespaces and audience that role takes';
    throw new StoreProblem('refused', `the secret store refuses the login at ${path} (${answer.status}): ${advice}`);
  }

  #hold(held: Held, isRenewable: boolean): void {
    clearTimeout(this.#renewal);
    if (this.#isClosed) return;
    this.#held = held;
    const leftMs = held.endsAt - Date.now();
    if (!isRenewable || held.lifeMs === 0) return;
    this.#renewal = setTimeout(() => void this.#renew(held), Math.min(longestTimerMs, leftMs * renewAfter)).unref();
  }

  /** Renews the token. If that is refused, or its life has reached its end, the next reading logs in again. */
  async #renew(held: Held): Promise<void> {
    try {
      const { status, body } = await this.#with(this.#options.target.patienceMs, (requests) =>
        requests.ask('auth/token/renew-self', { method: 'POST', token: held.token, body: {} }),
      );
      if (this.#held !== held) return;
      const { auth } = body;
      const life = status === 200 && isObject(auth) ? lifeOf(Number(auth['lease_duration'])) : 0;
      if (life > held.lifeMs * (1 - renewAfter)) this.#hold({ ...held, endsAt: Date.now() + life }, true);
      else if (held.isOurs) this.#forget();
      else
        this.#options.warn(
          status === 200
            ? 'the token of the secret store is at the end of its longest life: set a new one'
            : `the secret store does not renew its token (${status}): set a new one before it ends`,
        );
    } catch (error) {
      if (this.#held !== held) return;
      this.#options.warn(`the token could not be renewed: ${(error as Error).message}`);
      // The pauses shrink with the rest of its life.
      if (held.endsAt - Date.now() > this.#options.target.timeoutMs) this.#hold(held, true);
    }
  }

  #forget(): void {
    clearTimeout(this.#renewal);
    this.#held = undefined;
  }

  async #with<Result>(patienceMs: number, work: (requests: StoreRequests) => Promise<Result>): Promise<Result> {
    await using requests = new StoreRequests({ ...this.#options.target, patienceMs });
    return await work(requests);
  }

  #fileText(path: string, option: string): string {
    const file = resolve(this.#options.folder, path);
    try {
      const status = statSync(file);
      const text = status.isFile() && status.size <= maxFileBytes ? readFileSync(file, 'utf8').trim() : '';
      if (text !== '') return text;
    } catch (error) {
      throw new StoreProblem(
        'refused',
        `${option} cannot be read: ${file} (${(error as NodeJS.ErrnoException).code ?? 'unreadable'})`,
      );
    }
    throw new StoreProblem('refused', `${option} holds no token: ${file} is empty, too large or no regular file`);
  }
}

const hasEnded = (): StoreProblem => new StoreProblem('passing', 'the login at the secret store has ended');

/** Milliseconds of a life that the store says in seconds; 0 for one without end. */
function lifeOf(seconds: number): number {
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : 0;
}
