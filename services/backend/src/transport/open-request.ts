/** One request over Streamable HTTP that has no answer yet. */
import { Link } from '@omnibus/collections';
import type { JsonRpcId } from '@omnibus/protocol';
import type { ResponseReader } from './response-reader.ts';
import { Reconnecting } from './server-words.ts';

export class OpenRequest extends Link {
  readonly id: JsonRpcId;
  reader: ResponseReader | undefined;
  lastEventId: string | undefined;
  readonly reconnecting = new Reconnecting();
  resumptions = 0;
  /** What is wrong with something on its stream that may have been the answer. */
  unreadable: string | undefined;
  timer: NodeJS.Timeout | undefined;
  /** Its response is what a GET brings: the POST was taken. */
  isResumed = false;

  constructor(id: JsonRpcId) {
    super();
    this.id = id;
  }
}
