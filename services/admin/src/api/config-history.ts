/** The history of the configuration since the process started: the options in force, their sources, and the last refused change. */
import type { Configuration, ConfigDifference } from '@omnibus/admin-api';
import type { Config, LoadedConfig } from '@omnibus/config';
import { differenceOf } from './config-difference.ts';
import type { ConfigSourceOf } from './shown-config.ts';

type Read = Pick<LoadedConfig, 'config' | 'given' | 'problemAt'>;
type Loaded = ConfigSourceOf['loaded'];

export class ConfigHistory {
  readonly file: string;
  readonly overrides: ConfigSourceOf['overrides'];
  #loaded: Loaded;
  #discovered: ReadonlySet<string> = new Set();
  #appliedAt = new Date().toISOString();
  #changed: Configuration['changed'];
  #rejected: Configuration['rejected'];
  /** Options that differ from those at the start, and take effect with the next start. */
  #restart: readonly string[] = [];

  /** @param file as the operator named it; empty where there is none. */
  constructor(file: string, loaded: Loaded, overrides: ConfigSourceOf['overrides'] = {}) {
    this.file = file;
    this.overrides = overrides;
    this.#loaded = loaded;
  }

  /**
   * @param before the configuration of the file that was in force.
   * @param restart options that differ from those at the start, and take effect with the next start.
   */
  applied(before: Config, loaded: Read, restart: readonly string[]): void {
    const difference = this.#difference(before, loaded);
    this.#loaded = loaded;
    this.#appliedAt = new Date().toISOString();
    // A file that was written again with the same content changes nothing.
    if (difference.options.length > 0) this.#changed = { at: this.#appliedAt, difference };
    this.#rejected = undefined;
    this.#restart = restart;
  }

  /** @param meant the configuration in force and the refused one; left out for a text that is no configuration. */
  rejected(problems: readonly string[], meant?: { readonly before: Config; readonly loaded: Read }): void {
    this.#rejected = {
      at: new Date().toISOString(),
      problems: problems.slice(0, 100),
      ...(meant === undefined ? {} : { difference: this.#difference(meant.before, meant.loaded) }),
    };
  }

  #difference(before: Config, loaded: Read): ConfigDifference {
    return differenceOf({ ...this.source, config: before }, { ...this.source, loaded, config: loaded.config });
  }

  /** Servers and profiles of Kubernetes. */
  discovered(names: Iterable<string>): void {
    this.#discovered = new Set(names);
    this.#appliedAt = new Date().toISOString();
  }

  get source(): Omit<ConfigSourceOf, 'config'> {
    return { loaded: this.#loaded, overrides: this.overrides, discovered: this.#discovered };
  }

  get state(): Pick<Configuration, 'file' | 'appliedAt' | 'changed' | 'rejected' | 'restart'> {
    return {
      file: this.file,
      appliedAt: this.#appliedAt,
      restart: [...this.#restart],
      ...(this.#changed === undefined ? {} : { changed: this.#changed }),
      ...(this.#rejected === undefined ? {} : { rejected: this.#rejected }),
    };
  }
}
