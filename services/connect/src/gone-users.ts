/**
 * Ends the connections of removed users to servers: when a user is removed from the file of the gateway's own authorization server, and at the start for
 * users that were removed while no gateway ran. A new user with the name of a removed one therefore does not get the connections of that user.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Bus, askBackends } from '@omnibus/bus';
import { principalOf } from '@omnibus/identity';
import type { ConnectCommand, ConnectReply } from '@omnibus/protocol';
import type { Logger } from '@omnibus/telemetry';

export interface GoneUsersOptions {
  readonly bus: Bus;
  readonly log: Logger;
  readonly issuer: string;
  /** Finds a user of the file. */
  readonly find: (
    subject: string,
  ) => { readonly created?: string | undefined; readonly id?: string | undefined } | undefined;
  /**
   * Whether users that are missing in the file are certainly removed: in a gateway of one process with the only file, and without an external
   * provider.
   */
  readonly isWhole: boolean;
  /** Whether users may have connected something to a server. */
  readonly isUsed: () => boolean;
}

/** Pauses between attempts while no backend worker answers. */
const pausesMs = [1_000, 2_000, 5_000, 10_000, 30_000];
/** Tolerance for the clocks of the machines on which users are added and sign in, where only times tell users of one name apart. */
const slackMs = 5 * 60_000;
const unsure =
  'what removed users have connected to servers may still be stored: "omnibus connections remove --user" ends it';

export class GoneUsers {
  readonly #options: GoneUsersOptions;
  readonly #stopped = new AbortController();

  constructor(options: GoneUsersOptions) {
    this.#options = options;
  }

  /** Ends the connections of a removed user. Never rejects. */
  async removed({ name: subject, id }: { readonly name: string; readonly id?: string | undefined }): Promise<void> {
    const { issuer } = this.#options;
    const principal = principalOf({ issuer, subject }, undefined, [], id);
    await this.#ask({ kind: 'forget', subject, issuer, principal }, subject);
  }

  /** Ends the connections of users that no longer exist. Never rejects. */
  async look(): Promise<void> {
    const { issuer, find, isWhole } = this.#options;
    const owners = await this.#owners();
    for (const subject of owners) {
      const user = find(subject);
      if (user === undefined && isWhole) await this.removed({ name: subject });
      const created = Date.parse(user?.created ?? '');
      if (Number.isNaN(created)) continue;
      // A user with an id is another principal than the users that had the name before.
      const former =
        user?.id === undefined
          ? { before: created - slackMs }
          : { before: created, except: principalOf({ issuer, subject }, undefined, [], user.id) };
      await this.#ask({ kind: 'forget', subject, issuer, ...former }, subject);
    }
  }

  /** The names of users of the gateway's own authorization server that have connected something. */
  async #owners(): Promise<ReadonlySet<string>> {
    const mark = ` (${this.#options.issuer})`;
    const owners = new Set<string>();
    let seen = 0;
    for (let after = ''; ;) {
      const said = await this.#ask({ kind: 'list', ...(after === '' ? {} : { after }) }, undefined);
      if (said?.kind !== 'connections') return owners;
      for (const { owner } of said.connections)
        if (owner?.endsWith(mark) === true) owners.add(owner.slice(0, -mark.length));
      const last = said.connections.at(-1);
      seen += said.connections.length;
      if (last === undefined || seen >= said.total) return owners;
      const next = `${last.server} ${last.principal}`;
      if (next <= after) {
        this.#options.log.error(
          { problem: `a backend worker of 0.3.0 lists the first ${said.connections.length} only` },
          unsure,
        );
        return owners;
      }
      after = next;
    }
  }

  stop(): void {
    this.#stopped.abort();
  }

  /** @returns undefined when no backend worker answers, or users can have connected nothing. */
  async #ask(command: ConnectCommand, subject: string | undefined): Promise<ConnectReply | undefined> {
    const { bus, log, isUsed } = this.#options;
    for (const pause of [...pausesMs, undefined]) {
      if (!isUsed() || this.#stopped.signal.aborted) return undefined;
      const said = await askBackends(bus, command).catch((error: unknown): ConnectReply => ({
        kind: 'failed',
        problem: String(error),
      }));
      if (said.kind !== 'failed') {
        if (said.kind === 'forgotten' && said.count > 0)
          log.warn({ subject, ...said }, 'what a removed user has connected to servers is ended');
        return said;
      }
      if (pause === undefined) log.error({ problem: said.problem, subject }, unsure);
      else await delay(pause, undefined, { ref: false, signal: this.#stopped.signal }).catch(() => undefined);
    }
    return undefined;
  }
}
