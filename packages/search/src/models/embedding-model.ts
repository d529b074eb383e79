/** Models that turn texts into vectors: one behind an address, or one in a folder, which runs on a thread of this process. */
import type { PackedVector } from '../meaning.ts';

export interface EmbeddingModel {
  /** Names the model and its version: vectors of models with different ids are never compared. */
  readonly id: string;
  /** Texts that one request may have. */
  readonly batch: number;
  /**
   * The vectors of texts, in their order.
   * @throws {Error} that says for the operator why there are none.
   */
  embed(texts: readonly string[], signal: AbortSignal): Promise<readonly PackedVector[]>;
  /** Ends it; open requests fail. */
  close(): Promise<void>;
}

export interface ModelSettings {
  /** Folder of a model that `omnibus search-model add` has prepared. */
  readonly folder?: string | undefined;
  /** An endpoint in the form of OpenAI's `/v1/embeddings`. */
  readonly url?: string | undefined;
  /** The name of the model at the endpoint. */
  readonly name?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Bound on the numbers of a vector that the endpoint is asked for; without it, the model's own. */
  readonly dimensions?: number | undefined;
}
