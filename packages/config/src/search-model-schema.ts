/** The embedding model by which tools are found, beside words. */
import { z } from 'zod';
import { givenDuration, httpUrl, nonEmpty, optionalText, textMap } from './plain-options.ts';

const maxTimeoutMs = 10_000;

export const searchModelSchema = z
  .strictObject({
    folder: optionalText.describe(
      'Folder of a model that `omnibus search-model add` has prepared. It runs in the session worker.',
    ),
    url: httpUrl
      .optional()
      .describe(
        'An endpoint in the form of OpenAI, such as "https://api.openai.com/v1/embeddings". It gets the definitions of tools and the questions of callers.',
      ),
    name: nonEmpty.max(200).optional().describe('The model at `url`, such as "text-embedding-3-small".'),
    headers: textMap.describe('HTTP headers of requests to `url`, for example `Authorization`. Secret.'),
    dimensions: z
      .int()
      .min(1)
      .max(4_096)
      .optional()
      .describe('Numbers of a vector that `url` is asked for. Default: as many as the model has.'),
    timeout: givenDuration
      .refine((ms) => ms > 0 && ms <= maxTimeoutMs, { error: 'expected a time of at most 10s' })
      .optional()
      .describe(
        'Time limit for the vector of a question; after it, the answer is ranked by words alone. Default: 500ms.',
      ),
  })
  .refine(({ folder, url }) => (folder === undefined) !== (url === undefined), {
    error: 'expected one of `folder` and `url`',
  });
