/** How the API changes the configuration file. The command that serves the file gives an editor to its process. */

/** A change of one server that the gateway would accept. */
export interface PlannedEdit {
  readonly file: string;
  /** Of the file before the change. */
  readonly digest: string;
  /** Changed lines, without secrets. */
  readonly difference: readonly string[];
  readonly warnings: readonly string[];
  /** The program that the server then starts on this machine, also if it is disabled; undefined if it starts none, or is removed. */
  readonly starts: string | undefined;
  /** @throws {Error} in words, if the file has changed since or cannot be written. */
  readonly write: () => void;
}

export interface ServerEditor {
  /** @throws {Error} in words, if this file is none that a gateway writes. */
  read(server: string): { readonly file: string; readonly digest: string; readonly entry?: string };
  /** @param entry options as YAML; null removes the server. @throws {Error} in words, if the gateway would not accept the change. */
  plan(server: string, entry: string | null): PlannedEdit;
}
