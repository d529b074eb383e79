/** The history of the configuration since the process started: what is in force, where it comes from, and the change that was refused last. */
import type { Configuration } from '@omnibus/admin-api';
import type { LoadedConfig } from '@omnibus/config';
import type { ConfigSourceOf } from './shown-config.ts';

type Loaded = ConfigSourceOf['loaded'];

export class ConfigHistory {
  readonly file: string;
  readonly overrides: ConfigSourceOf['overrides'];
  #loaded: Loaded;
  #discovered: ReadonlySet<string> = new Set();
  #appliedAt = new Date().toISOString();
  #rejected: Configuration['rejected'];
  /** Options changed since the start that take effect with the next start. */
  readonly #restart = new Set<string>();

  /** @param file as the operator named it; empty where there is none. */
  constructor(file: string, loaded: Loaded, overrides: ConfigSourceOf['overrides'] = {}) {
    this.file = file;
    this.overrides = overrides;
    this.#loaded = loaded;
  }

  /** @param restart options that differ, and take effect with the next start. */
  applied(loaded: Pick<LoadedConfig, 'given' | 'problemAt'>, restart: readonly string[]): void {
    this.#loaded = loaded;
    this.#appliedAt = new Date().toISOString();
    this.#rejected = undefined;
    for (const option of restart) this.#restart.add(option);
  }

  rejected(problems: readonly string[]): void {
    this.#rejected = { at: new Date().toISOString(), problems: problems.slice(0, 100) };
  }

  /** Servers and profiles of Kubernetes. */
  discovered(names: Iterable<string>): void {
    this.#discovered = new Set(names);
    this.#appliedAt = new Date().toISOString();
  }

  get source(): Omit<ConfigSourceOf, 'config'> {
    return { loaded: this.#loaded, overrides: this.overrides, discovered: this.#discovered };
  }

  get state(): Pick<Configuration, 'file' | 'appliedAt' | 'rejected' | 'restart'> {
    return { file: this.file, appliedAt: this.#appliedAt, restart: [...this.#restart], ...(this.#rejected === undefined ? {} : { rejected: this.#rejected }) };
  }
}
