#include "experiments/reconstruct/samples.h"

#include "mpi/runtime/log.h"

#include <math.h>

void norma_reconstruct_samples_warn(const norma_reconstruct_inputs *inputs)
{
    const norma_images *images = norma_dataset_images_local(inputs->dataset);
    const norma_network *network = norma_target_network_local(inputs->target);
    const char *path = norma_dataset_path_local(inputs->dataset);
    double declared = network->input_max - network->input_min;
    double range[2];
    if (!images->labels)
        norma_log_info("%s: no labels were found beside the images, so no accuracy is measured",
                       path);
    norma_images_range(images, network, range);
    if (declared > 0 && isfinite(declared) && range[1] - range[0] < 0.02 * declared)
        norma_log_warning("%s: the samples are from %.4g to %.4g, less than 2%% of the target's "
                          "input range from %.4g to %.4g: is their scale (stored as %s) the one "
                          "that input_scale expects?",
                          path, range[0], range[1], network->input_min, network->input_max,
                          norma_dataset_type_local(inputs->dataset));
}
