import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Makes a sequencer that starts slow files first, so that at the end no process works on one alone. The rest comes in
 * the order of vitest: as long as it does not know how long files take, large ones first.
 *
 * @param slow paths of the slow files, from the root of the project.
 */
export function slowFirst(slow: readonly string[]): typeof BaseSequencer {
  return class SlowFirst extends BaseSequencer {
    override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
      const isSlow = ({ project, moduleId }: TestSpecification): boolean =>
        slow.includes(relative(project.config.root, moduleId));
      const sorted = await super.sort(files);
      return [...sorted.filter(isSlow), ...sorted.filter((one) => !isSlow(one))];
    }
  };
}
