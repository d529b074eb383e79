/** Tasks of the extension (2026-07-28) that ask for the roots before they end. */
import { isObject, type JsonObject } from '@omnibus/protocol';

export class EraJobs {
  readonly #jobs = new Map<string, JsonObject>();

  create(): JsonObject {
    const now = new Date().toISOString();
    const taskId = `job-${this.#jobs.size + 1}`;
    const job = {
      taskId,
      status: 'input_required',
      createdAt: now,
      lastUpdatedAt: now,
      ttlMs: 60_000,
      pollIntervalMs: 50,
    };
    this.#jobs.set(taskId, { ...job, inputRequests: { where: { method: 'roots/list', params: {} } } });
    return { resultType: 'task', ...job };
  }

  /** @returns undefined when there is no such task. */
  serve(method: string, params: JsonObject): JsonObject | undefined {
    const taskId = String(params['taskId']);
    const job = this.#jobs.get(taskId);
    if (job === undefined || method === 'tasks/get') return job;
    const { inputRequests: _requests, ...rest } = job;
    const responses = params['inputResponses'];
    if (method === 'tasks/update' && isObject(responses)) {
      const result = { content: [{ type: 'text', text: `the result of a job ${JSON.stringify(responses['where'])}` }] };
      this.#jobs.set(taskId, { ...rest, status: 'completed', result });
    }
    return {};
  }
}
