/** The options of `omnibus serve`. */
import type { ServedOptions } from './served-gateway.ts';

export interface ServeOptions extends ServedOptions {
  /** Whether pages of sign-ins are opened in a browser; undefined: where one is seen. */
  readonly browser?: boolean;
  /** Number of workers; undefined: this process serves alone. */
  readonly workers?: number;
}
