// The text that the sample tokenizer's merges are learned from. Written for this project.
#include "tools/tiny_checkpoints/tiny_tokenizer.h"

namespace natsl::tools {

std::string_view TinyCorpus() {
  return R"(The harbour master kept two books. In the first he wrote down every boat that came in, with its name, the hour and the weather, and he never threw a page away. When someone asked about a boat of last winter, he turned back page after page until he found it. It took him longer every year, because the book grew with every tide.

The second book was a single slate. On the slate he kept what mattered now: how many boats lay at the pier, how much ice was left, which nets were torn. When a boat came in, he wiped out an old line and wrote a new one over it. The slate was always the same size, and reading it took no time at all. But what had been wiped out was gone.

His daughter said that he should use both. For most days the slate was enough. For the few days on which something unusual happened, a storm, a stranger, a price that nobody had seen before, she copied the whole day into the book. In the evening she looked at the day that was over and decided: this one goes to the book, that one to the slate. After a year the book was thin, the slate was clean, and she could still answer nearly every question that people asked her.

Question: How many books did the harbour master keep?
Answer: two
Question: What was always the same size?
Answer: the slate
Question: Where did she copy the day on which a stranger came?
Answer: into the book

A model that reads a long text has the same choice. It can keep every word that it has read and look at all of them again for each new word, or it can keep a state of fixed size and change it a little with each word. The first way is exact and becomes slow; the second way is fast and forgets. A hybrid model does one thing in some of its layers and the other thing in the rest, and some models choose again for each part of the text.

To compare such models we measure two things. We ask how well they predict the next word, how often they choose the right ending of a story, and whether they can find a number that was hidden far back in the text. And we measure the time and the memory that they need for one thousand, ten thousand and one hundred thousand words. A fast answer that is wrong is not worth much, and a right answer that never comes is not worth much either.

The special number for the lighthouse is 4071. The special number for the bakery is 9358. The special number for the old bridge is 2264. Remember these numbers, because somebody will ask for one of them later. The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again.

If there are 12 boats and 5 of them leave, then 7 boats are left. If there are 30 boxes of fish and each box weighs 20 pounds, then they weigh 600 pounds together. On Monday the first ferry leaves at 6:15 and the last one at 21:40; on Sunday there is none before 8:30.

She opened the window because the room was too warm. He closed the umbrella because the rain had stopped. They carried the table through the door, but it was too wide. The children were tired after the long walk, so they went to bed early. What do you think will happen next? The water in the kettle began to boil, and she made tea for everyone who had come in from the cold.
)";
}

}  // namespace natsl::tools
