import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Makes a sequencer that starts slow files first, so that at the end no process works on one alone. The rest comes in
 * the order of vitest: as long as it does not know how long files take, large ones first.
 *
 * @param slow paths of the slow files, from the root of the project, the slowest first.
 */
export function slowFirst(slow: readonly string[]): typeof BaseSequencer {
  return class SlowFirst extends BaseSequencer {
    override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
      const rank = ({ project, moduleId }: TestSpecification): number => {
        const at = slow.indexOf(relative(project.config.root, moduleId));
        return at < 0 ? slow.length : at;
      };
      return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
    }
  };
}
